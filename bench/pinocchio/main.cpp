// Pinocchio's forward dynamics and its derivatives, timed on a model exported by `pullback bench articulated`.
//
// usage: main MODEL.txt
// Model: the number of joints, then per joint: parent, kind (F free, R revolute), axis (3), placement in the parent (rotation by
// rows 9, translation 3), mass, centre of mass (3), inertia about it (xx xy yy xz yz zz), name.
// Prints one JSON object: best seconds per call over many repetitions.
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

using Vector = Eigen::VectorXd;

static pinocchio::Model read_model(const char* path) {
    std::ifstream file(path);
    int joints = 0;
    file >> joints;
    pinocchio::Model model;
    for (int i = 0; i < joints; ++i) {
        int parent;
        std::string kind, name;
        Eigen::Vector3d axis, translation, com;
        Eigen::Matrix3d rotation, inertia;
        double mass, xx, xy, yy, xz, yz, zz;
        file >> parent >> kind >> axis[0] >> axis[1] >> axis[2];
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) file >> rotation(r, c);
        file >> translation[0] >> translation[1] >> translation[2] >> mass >> com[0] >> com[1] >> com[2];
        file >> xx >> xy >> yy >> xz >> yz >> zz >> name;
        inertia << xx, xy, xz, xy, yy, yz, xz, yz, zz;
        const pinocchio::SE3 placement(rotation, translation);
        pinocchio::JointIndex joint;
        if (kind == "F")
            joint = model.addJoint(parent, pinocchio::JointModelFreeFlyer(), placement, name);
        else if (axis.isApprox(Eigen::Vector3d::UnitX()))
            joint = model.addJoint(parent, pinocchio::JointModelRX(), placement, name);
        else if (axis.isApprox(Eigen::Vector3d::UnitY()))
            joint = model.addJoint(parent, pinocchio::JointModelRY(), placement, name);
        else if (axis.isApprox(Eigen::Vector3d::UnitZ()))
            joint = model.addJoint(parent, pinocchio::JointModelRZ(), placement, name);
        else
            joint = model.addJoint(parent, pinocchio::JointModelRevoluteUnaligned(axis), placement, name);
        model.appendBodyToJoint(joint, pinocchio::Inertia(mass, com, inertia), pinocchio::SE3::Identity());
    }
    return model;
}

template <class Call>
static double best_seconds(Call call) {
    using Clock = std::chrono::steady_clock;
    const int calls = 512, repetitions = 300;
    for (int i = 0; i < 2 * calls; ++i) call(i);
    double best = std::numeric_limits<double>::infinity();
    for (int r = 0; r < repetitions; ++r) {
        const auto start = Clock::now();
        for (int i = 0; i < calls; ++i) call(i);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count() / calls;
        if (seconds < best) best = seconds;
    }
    return best;
}

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const pinocchio::Model model = read_model(arguments[1]);
    pinocchio::Data data(model);
    const int states = 64;
    std::vector<Vector> q(states), v(states), tau(states);
    srand(0);
    for (int i = 0; i < states; ++i) {
        q[i] = pinocchio::neutral(model);
        q[i].tail(model.nq - 7).setRandom();
        Vector orientation = Vector::Random(4);
        q[i].segment(3, 4) = orientation.normalized();
        v[i] = Vector::Random(model.nv);
        tau[i] = Vector::Random(model.nv);
    }
    const double aba = best_seconds([&](int i) { pinocchio::aba(model, data, q[i % states], v[i % states], tau[i % states]); });
    const double derivatives = best_seconds([&](int i) {
        pinocchio::computeABADerivatives(model, data, q[i % states], v[i % states], tau[i % states]);
    });
    const double rnea = best_seconds([&](int i) { pinocchio::rnea(model, data, q[i % states], v[i % states], tau[i % states]); });
    const double crba = best_seconds([&](int i) { pinocchio::crba(model, data, q[i % states]); });
    std::printf("{\"nv\": %d, \"aba\": %.6g, \"aba_derivatives\": %.6g, \"rnea\": %.6g, \"crba\": %.6g}\n", model.nv, aba,
                derivatives, rnea, crba);
    return 0;
}
